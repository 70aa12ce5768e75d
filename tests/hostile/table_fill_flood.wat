;; Fills its table again and again.
;; against: lives
;; ends: fault fuel in run: its fuel is used up
(table $t 90000 funcref)
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (loop $again (table.fill $t (i32.const 0) (ref.null func) (i32.const 90000)) (br $again)) unreachable)
