;; Calls itself `../Evil`.
;; against: words
;; ends: fault contract in describe: a pass is named in lower case
(data (i32.const 512) "../Evil")
(data (i32.const 528) "0.1.0")
(data (i32.const 1024) "\00\02\00\00\07\00\00\00\10\02\00\00\05\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00")
(func (export "airlock:pass/pass@0.1.0#describe") (result i32) (i32.const 1024))
