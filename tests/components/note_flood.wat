;; Writes a new note of 8 KiB without end.
;; against: lives
;; ends: fault host-limit in run: its calls would fill
;; limits: host_bytes = 1048576
(import "airlock:pass/graph@0.1.0" "nodes" (func $nodes (param i32 i32)))
(import "airlock:pass/graph@0.1.0" "annotate" (func $annotate (param i64 i32 i32 i32 i32 i32 i32)))
(data (i32.const 4096) "key")
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32)
  (call $nodes (i32.const 0) (i32.const 4200))
  (loop $again
    ;; a new value of 8 KiB each time
    (i32.store (i32.const 16384) (i32.add (i32.load (i32.const 16384)) (i32.const 1)))
    (call $annotate (i64.load (i32.load (i32.const 4200))) (i32.const 4096) (i32.const 3)
      (i32.const 1) (i32.const 16384) (i32.const 8192) (i32.const 4304))
    (br $again))
  unreachable)
