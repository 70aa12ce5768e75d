;; Gives out memory upwards from 64 KiB, growing it as needed, and never takes any back.
(global $top (mut i32) (i32.const 65536))
(func (export "cabi_realloc") (param i32 i32 i32 i32) (result i32)
  (local $at i32)
  (local.set $at (i32.and (i32.add (global.get $top) (i32.const 15)) (i32.const -16)))
  (global.set $top (i32.add (local.get $at) (local.get 3)))
  (block $room
    (loop $grow
      (br_if $room (i32.le_u (global.get $top) (i32.mul (memory.size) (i32.const 65536))))
      (br_if $grow (i32.ge_s (memory.grow (i32.const 16)) (i32.const 0)))
      unreachable))
  (local.get $at))
