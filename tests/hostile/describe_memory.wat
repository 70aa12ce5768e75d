;; Grows its memory in `describe`.
;; against: lives
;; ends: fault memory in describe: its memory would grow
(func (export "airlock:pass/pass@0.1.0#describe") (result i32) (loop $again (drop (memory.grow (i32.const 64))) (br $again)) unreachable)
