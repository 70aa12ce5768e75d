(memory (export "memory") 2)
