;; Loops in a start function.
;; against: lives
;; ends: fault fuel in start: its fuel is used up
(func $start (loop $again (br $again)))
(start $start)
