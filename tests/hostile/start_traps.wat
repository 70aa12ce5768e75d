;; Traps in a start function.
;; against: lives
;; ends: fault trap in start: unreachable
(func $s unreachable) (start $s)
