;; Two functions call each other through a table.
;; against: lives
;; ends: fault stack in run: it recursed deeper
(table $t 2 funcref) (type $f (func (param i64 i64 i64 i64 i64 i64 i64 i64)))
(func $a (type $f) (call_indirect $t (type $f) (local.get 1) (local.get 2) (local.get 3) (local.get 4) (local.get 5) (local.get 6) (local.get 7) (local.get 0) (i32.const 1)))
(func $b (type $f) (call_indirect $t (type $f) (local.get 1) (local.get 2) (local.get 3) (local.get 4) (local.get 5) (local.get 6) (local.get 7) (local.get 0) (i32.const 0)))
(elem (table $t) (i32.const 0) func $a $b)
(func (export "airlock:pass/pass@0.1.0#run") (param i32 i32) (result i32) (call $a (i64.const 0) (i64.const 1) (i64.const 2) (i64.const 3) (i64.const 4) (i64.const 5) (i64.const 6) (i64.const 7)) (i32.const 2048))
