;; Looks for bits of the machine in NaNs that it computes.
;; against: reads
;; ends: unchanged: one form
(import "airlock:pass/host@0.1.0" "log" (func $log (param i32 i32 i32)))
(data (i32.const 4096) "one form")
(func $look (param f64) (if (i64.ne (i64.reinterpret_f64 (local.get 0)) (i64.const 0x7ff8000000000000)) (then unreachable)))
(func $narrow (param f32) (if (i32.ne (i32.reinterpret_f32 (local.get 0)) (i32.const 0x7fc00000)) (then unreachable)))
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (local f64 f64)
  (local.set 2 (f64.reinterpret_i64 (i64.const 0xfff7dead_beef1234)))
  (call $look (f64.div (f64.const 0) (f64.const -0)))
  (call $look (f64.sqrt (f64.const -1)))
  (call $look (f64.add (local.get 2) (f64.const 1)))
  (call $look (f64.sub (f64.const inf) (f64.const inf)))
  (call $look (f64.min (local.get 2) (local.get 3)))
  (call $look (f64.promote_f32 (f32.demote_f64 (local.get 2))))
  (call $narrow (f32.mul (f32.const inf) (f32.const 0)))
  (call $narrow (f32.demote_f64 (local.get 2)))
  (call $log (i32.const 1) (i32.const 4096) (i32.const 8))
  (i32.const 2048))
