;; Answers with an address that is not there.
;; against: lives
;; ends: fault contract in run: 
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (i32.const -8))
