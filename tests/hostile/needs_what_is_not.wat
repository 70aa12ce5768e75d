;; Asks for a grant that there is not.
;; against: reads
;; ends: fault contract in describe: it asks for the grant `files`
(data (i32.const 8192) "\70")
(data (i32.const 8208) "\30\2e\31\2e\30")
(data (i32.const 8224) "")
(data (i32.const 8232) "\66\69\6c\65\73")
(data (i32.const 8248) "\28\20\00\00\05\00\00\00")
(data (i32.const 4096) "\00\20\00\00\01\00\00\00\10\20\00\00\05\00\00\00\38\20\00\00\01\00\00\00\20\20\00\00\00\00\00\00")
(func (export "airlock:pass/pass@0.1.0#describe") (result i32) (i32.const 4096))
