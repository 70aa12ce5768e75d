;; Fails with a message of a megabyte.
;; against: words
;; ends: fault guest-error in run: more characters
(memory (export "memory") 32)
(data (i32.const 4096) "\01\00\00\00\00\00\02\00\00\00\10\00")
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (memory.fill (i32.const 131072) (i32.const 65) (i32.const 1048576)) (i32.const 4096))
