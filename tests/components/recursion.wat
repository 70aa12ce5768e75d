;; Calls itself without end.
;; against: lives
;; ends: fault stack in run: it recursed deeper
(func $down (param i32) (result i32) (i32.add (i32.const 1) (call $down (i32.add (local.get 0) (i32.const 1)))))
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (call $down (i32.const 0)))
