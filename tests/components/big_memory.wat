;; Begins with more memory than there is.
;; against: lives
;; ends: fault memory in start: its memory would grow
(memory (export "memory") 60000)
