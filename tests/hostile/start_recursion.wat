;; Calls itself in a start function.
;; against: lives
;; ends: fault stack in start: it recursed deeper
(func $s (call $s)) (start $s)
