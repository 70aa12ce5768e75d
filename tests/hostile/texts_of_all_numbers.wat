;; Asks for the texts of all numbers.
;; against: lives
;; ends: fault fuel in run: its fuel is used up
;; limits: fuel_base = 1000000
(import "airlock:pass/graph@0.1.0" "text" (func $text (param i32 i32)))
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (local i32) (loop $again (call $text (local.get 2) (i32.const 4200)) (local.set 2 (i32.add (local.get 2) (i32.const 1))) (br $again)) unreachable)
