;; Grows its table to 2^32 - 1 elements.
;; against: lives
;; ends: fault fuel in run: its fuel is used up
(table $t 1 funcref)
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (drop (table.grow $t (ref.null func) (i32.const -2))) (i32.const 2048))
