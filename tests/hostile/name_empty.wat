;; Has no name.
;; against: words
;; ends: fault contract in describe: a pass is named in lower case
(data (i32.const 8192) "")
(data (i32.const 8200) "\30\2e\31\2e\30")
(data (i32.const 8216) "")
(data (i32.const 4096) "\00\20\00\00\00\00\00\00\08\20\00\00\05\00\00\00\00\00\00\00\00\00\00\00\18\20\00\00\00\00\00\00")
(func (export "airlock:pass/pass@0.1.0#describe") (result i32) (i32.const 4096))
