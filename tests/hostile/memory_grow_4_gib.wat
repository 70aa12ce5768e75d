;; Grows its memory by 4 GiB at once.
;; against: lives
;; ends: fault memory in run: its memory would grow
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (drop (memory.grow (i32.const 60000))) (i32.const 2048))
