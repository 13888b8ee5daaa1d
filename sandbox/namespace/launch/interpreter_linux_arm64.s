#include "textflag.h"

// The interpreter: see interpreter_amd64.s for what it does. R19 holds the
// address of the current operation, R20 its argument kinds.
TEXT ·interpreterText(SB), NOSPLIT|NOFRAME, $0-0
	MOVD $0x20000040, R19

next:
	MOVWU 4(R19), R20
	MOVD  16(R19), R0
	TBZ   $0, R20, arg1
	MOVW  (R0), R0

arg1:
	MOVD 24(R19), R1
	TBZ  $1, R20, arg2
	MOVW (R1), R1

arg2:
	MOVD 32(R19), R2
	TBZ  $2, R20, arg3
	MOVW (R2), R2

arg3:
	MOVD 40(R19), R3
	TBZ  $3, R20, arg4
	MOVW (R3), R3

arg4:
	MOVD 48(R19), R4
	TBZ  $4, R20, arg5
	MOVW (R4), R4

arg5:
	MOVD 56(R19), R5
	TBZ  $5, R20, run
	MOVW (R5), R5

run:
	MOVWU (R19), R8
	MOVD  $0xFFFF0000, R21
	CMP   R21, R8
	BEQ   jumpif
	MOVD  $0xFFFF0001, R21
	CMP   R21, R8
	BEQ   set
	SVC
	MOVWU 12(R19), R21
	MOVW  R0, (R21)
	CMN   $4095, R0
	BHS   failed

advance:
	ADD $64, R19, R19
	B   next

failed:
	NEG  R0, R0
	MOVD $0x20000000, R21
	MOVW R0, (R21)
	MOVW R19, 4(R21)

branch:
	MOVWU 8(R19), R19
	B     next

jumpif:
	AND R1, R0, R0
	CMP R2, R0
	BEQ branch
	B   advance

set:
	MOVWU 12(R19), R21
	MOVW  R0, (R21)
	B     advance

	// The end marker: "KINTSUGI".
	WORD $0x544e494b
	WORD $0x49475553

// func interpreterAddr() unsafe.Pointer
TEXT ·interpreterAddr(SB), NOSPLIT, $0-8
	MOVD $·interpreterText(SB), R0
	MOVD R0, ret+0(FP)
	RET
