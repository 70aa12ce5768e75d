;; Begins with a table of 10 million.
;; against: lives
;; ends: fault memory in start: its tables would grow
(table $t 10000000 funcref)
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (i32.const 2048))
