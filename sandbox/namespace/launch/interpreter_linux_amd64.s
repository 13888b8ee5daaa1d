#include "textflag.h"

// The interpreter. It uses registers only: no stack, no calls, no Go runtime,
// so a copy of these bytes runs as a process of its own.
//
// R12 holds the address of the current operation (see the op struct).
// A word at Base takes the error number of the last failed operation, the
// word after it that operation's address.
TEXT ·interpreterText(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ $0x20000040, R12

next:
	MOVL  4(R12), BX
	MOVQ  16(R12), DI
	TESTL $1, BX
	JEQ   arg1
	MOVLQSX (DI), DI

arg1:
	MOVQ  24(R12), SI
	TESTL $2, BX
	JEQ   arg2
	MOVLQSX (SI), SI

arg2:
	MOVQ  32(R12), DX
	TESTL $4, BX
	JEQ   arg3
	MOVLQSX (DX), DX

arg3:
	MOVQ  40(R12), R10
	TESTL $8, BX
	JEQ   arg4
	MOVLQSX (R10), R10

arg4:
	MOVQ  48(R12), R8
	TESTL $16, BX
	JEQ   arg5
	MOVLQSX (R8), R8

arg5:
	MOVQ  56(R12), R9
	TESTL $32, BX
	JEQ   run
	MOVLQSX (R9), R9

run:
	MOVL (R12), AX
	CMPL AX, $0xFFFF0000
	JEQ  jumpif
	CMPL AX, $0xFFFF0001
	JEQ  set
	SYSCALL
	MOVL 12(R12), CX
	MOVL AX, (CX)
	CMPQ AX, $-4095
	JCC  failed

advance:
	ADDQ $64, R12
	JMP  next

failed:
	NEGL AX
	MOVQ $0x20000000, CX
	MOVL AX, (CX)
	MOVL R12, 4(CX)

branch:
	MOVL 8(R12), R12
	JMP  next

jumpif:
	ANDQ SI, DI
	CMPQ DI, DX
	JEQ  branch
	JMP  advance

set:
	MOVL 12(R12), CX
	MOVL DI, (CX)
	JMP  advance

	// The end marker: "KINTSUGI".
	BYTE $0x4b; BYTE $0x49; BYTE $0x4e; BYTE $0x54
	BYTE $0x53; BYTE $0x55; BYTE $0x47; BYTE $0x49

// func interpreterAddr() unsafe.Pointer
TEXT ·interpreterAddr(SB), NOSPLIT, $0-8
	LEAQ ·interpreterText(SB), AX
	MOVQ AX, ret+0(FP)
	RET
