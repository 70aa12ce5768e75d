;; Answers with a case that there is not.
;; against: lives
;; ends: fault contract in run: 
(data (i32.const 4096) "\09")
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (i32.const 4096))
