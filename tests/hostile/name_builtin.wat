;; Calls itself as a built-in pass is called.
;; against: words
;; ends: fault contract in describe: a pass is named in lower case
(data (i32.const 8192) "\72\65\6d\6f\76\65\5f\64\65\61\64\5f\63\6f\64\65")
(data (i32.const 8216) "\30\2e\31\2e\30")
(data (i32.const 8232) "")
(data (i32.const 4096) "\00\20\00\00\10\00\00\00\18\20\00\00\05\00\00\00\00\00\00\00\00\00\00\00\28\20\00\00\00\00\00\00")
(func (export "airlock:pass/pass@0.1.0#describe") (result i32) (i32.const 4096))
