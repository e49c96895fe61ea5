// Command mutants breaks the laws of docs/laws.md, one at a time, and fails where
// nobody notices.
//
// A mutant is a patch beside this file, NN_name.patch, whose first lines say what
// must notice it:
//
//	# package: ./session
//	# test: TestLaw20_oneAnswer
//	# breaks: what the patch does, for people
//	# sources: read (only where the test reads its package's own sources)
//
// followed by a unified diff against the module's root. Each patch is applied to
// copies of the files that it touches, which an overlay puts in their place: the
// working tree is never changed. Under it the named test must run and fail. A
// patch that does not apply, or does not compile, or whose test is not there, is
// a fault of the mutant and fails too.
//
// It decides nothing about the laws themselves and refuses to know what a package
// does. Mutants run in a bounded number of goroutines that share nothing but the
// list of results.
//
//	go run ./internal/mutants [-j 2] [-v] [name…]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
)

func main() {
	parallel := flag.Int("j", 2, "how many mutants run at a time")
	verbose := flag.Bool("v", false, "show what the tests said of the mutants that they noticed, too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	survivors, err := run(ctx, *parallel, *verbose, flag.Args())
	if err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(2)
	}
	if survivors > 0 {
		os.Exit(1)
	}
}

// run runs the named mutants, all of them where none is named, and counts those
// that were not noticed.
func run(ctx context.Context, parallel int, verbose bool, names []string) (survivors int, err error) {
	root, err := moduleRoot(ctx)
	if err != nil {
		return 0, err
	}
	all, err := load(filepath.Join(root, "internal", "mutants"))
	if err != nil {
		return 0, err
	}
	chosen, err := choose(all, names)
	if err != nil {
		return 0, err
	}
	for _, v := range judgeAll(ctx, root, chosen, parallel) {
		fmt.Println(v)
		switch {
		case v.fault != "":
			survivors++
		case verbose:
			fmt.Println(v.output)
		}
	}
	fmt.Printf("%d mutants, %d not noticed\n", len(chosen), survivors)
	return survivors, ctx.Err()
}
