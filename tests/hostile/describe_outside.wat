;; Describes itself by texts that are not there.
;; against: lives
;; ends: fault contract in describe: 
(data (i32.const 4096) "\f0\ff\ff\ff\10\00\00\00\f0\ff\ff\ff\10\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00")
(func (export "airlock:pass/pass@0.1.0#describe") (result i32) (i32.const 4096))
