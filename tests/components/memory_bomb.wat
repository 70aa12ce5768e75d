;; Grows its memory without end.
;; against: lives
;; ends: fault memory in run: its memory would grow
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32)
  (loop $again (drop (memory.grow (i32.const 100))) (br $again)) unreachable)
