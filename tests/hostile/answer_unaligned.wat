;; Answers with an odd address.
;; against: lives
;; ends: fault contract in run: 
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (i32.const 2049))
