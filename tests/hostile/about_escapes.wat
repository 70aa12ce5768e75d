;; Says escapes and look-alikes of itself.
;; against: words
;; ends: unchanged
(data (i32.const 8192) "\70")
(data (i32.const 8208) "\31\2e\30\2e\30")
(data (i32.const 8224) "\1b\5d\30\3b\78\07\e2\80\ae\d0\b0")
(data (i32.const 4096) "\00\20\00\00\01\00\00\00\10\20\00\00\05\00\00\00\00\00\00\00\00\00\00\00\20\20\00\00\0b\00\00\00")
(func (export "airlock:pass/pass@0.1.0#describe") (result i32) (i32.const 4096))
