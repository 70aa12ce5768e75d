;; Grows its table without end.
;; against: lives
;; ends: fault memory in run: its tables would grow
(table $t 1 funcref)
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32)
  (loop $again (drop (table.grow $t (ref.null func) (i32.const 1000))) (br $again)) unreachable)
