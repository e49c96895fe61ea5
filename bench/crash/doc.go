// Package crash kills gateways: the real command on a durable log, with kill -9, at
// random points of real turns. It holds tests only.
//
// It decides what must have survived: every event that anybody was sent, at its seq,
// byte for byte, but for deltas; every turn and every answer that was acknowledged; an
// end, once, of whatever had begun. And what must not have: a process, a number used
// twice, an admitted turn run again.
//
//	go test ./bench/crash                 30 seeds
//	go test ./bench/crash -seeds 1000     as many as that
//	go test ./bench/crash -seed 17        this one, as it was
package crash
