;; Asks for weights, which are not granted.
;; against: reads
;; ends: refused: which it was not granted
(data (i32.const 8192) "\70")
(data (i32.const 8208) "\30\2e\31\2e\30")
(data (i32.const 8224) "")
(data (i32.const 8232) "\63\6f\6e\73\74\61\6e\74\73")
(data (i32.const 8256) "\28\20\00\00\09\00\00\00")
(data (i32.const 4096) "\00\20\00\00\01\00\00\00\10\20\00\00\05\00\00\00\40\20\00\00\01\00\00\00\20\20\00\00\00\00\00\00")
(func (export "airlock:pass/pass@0.1.0#describe") (result i32) (i32.const 4096))
