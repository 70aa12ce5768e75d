;; Loops with fuel without end.
;; against: lives
;; ends: fault time in run: its time is used up
;; limits: fuel_base = 9000000000000000000; time_seconds = 1.0
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (loop $again (br $again)) unreachable)
