;; Calls itself what is no UTF-8.
;; against: words
;; ends: fault contract in describe: 
(data (i32.const 8192) "\ff\fe")
(data (i32.const 8208) "\30\2e\31\2e\30")
(data (i32.const 8224) "")
(data (i32.const 4096) "\00\20\00\00\02\00\00\00\10\20\00\00\05\00\00\00\00\00\00\00\00\00\00\00\20\20\00\00\00\00\00\00")
(func (export "airlock:pass/pass@0.1.0#describe") (result i32) (i32.const 4096))
