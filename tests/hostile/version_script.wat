;; Has a version of HTML.
;; against: words
;; ends: unchanged
(data (i32.const 8192) "\70")
(data (i32.const 8208) "\3c\73\63\72\69\70\74\3e\61\6c\65\72\74\28\31\29\3c\2f\73\63\72\69\70\74\3e")
(data (i32.const 8248) "")
(data (i32.const 4096) "\00\20\00\00\01\00\00\00\10\20\00\00\19\00\00\00\00\00\00\00\00\00\00\00\38\20\00\00\00\00\00\00")
(func (export "airlock:pass/pass@0.1.0#describe") (result i32) (i32.const 4096))
