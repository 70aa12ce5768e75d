;; Loops when the host has read its answer.
;; against: lives
;; ends: fault fuel in run: its fuel is used up
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (i32.const 2048))
(func (export "cabi_post_airlock:pass/pass@0.1.0#run") (param i32) (loop $again (br $again)))
