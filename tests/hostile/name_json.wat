;; Has a name that would end a text of JSON.
;; against: words
;; ends: fault contract in describe: a pass is named in lower case
(data (i32.const 8192) "\78\22\2c\22\6f\75\74\63\6f\6d\65\22\3a\22\61\63\63\65\70\74\65\64")
(data (i32.const 8224) "\30\2e\31\2e\30")
(data (i32.const 8240) "")
(data (i32.const 4096) "\00\20\00\00\16\00\00\00\20\20\00\00\05\00\00\00\00\00\00\00\00\00\00\00\30\20\00\00\00\00\00\00")
(func (export "airlock:pass/pass@0.1.0#describe") (result i32) (i32.const 4096))
