;; Has a version of escapes.
;; against: words
;; ends: fault contract in describe: is no version
(data (i32.const 8192) "\70")
(data (i32.const 8208) "\1b\5b\32\4a")
(data (i32.const 8224) "")
(data (i32.const 4096) "\00\20\00\00\01\00\00\00\10\20\00\00\04\00\00\00\00\00\00\00\00\00\00\00\20\20\00\00\00\00\00\00")
(func (export "airlock:pass/pass@0.1.0#describe") (result i32) (i32.const 4096))
