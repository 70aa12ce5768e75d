;; Loops in `run`.
;; against: lives
;; ends: fault fuel in run: its fuel is used up
(func $spin (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (loop $again (br $again)) unreachable)
