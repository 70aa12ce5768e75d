;; Logs what is no UTF-8.
;; against: lives
;; ends: fault contract in run: invalid utf-8
(import "airlock:pass/host@0.1.0" "log" (func $log (param i32 i32 i32)))
(data (i32.const 4096) "\ff\fe\80")
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32)
  (call $log (i32.const 0) (i32.const 4096) (i32.const 3))
  (i32.const 2048))
