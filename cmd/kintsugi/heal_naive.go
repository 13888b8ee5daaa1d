package main

import (
	"regexp"
	"strings"

	"kintsugi/agent/heal/programs"
)

// verdict judges what the naive baseline would have installed.
type verdict string

const (
	naiveRight   verdict = "right"
	naiveWrong   verdict = "wrong"
	naiveNothing verdict = "nothing"
)

// naiveRule is how people without a map read an error: the name in it is
// what they install.
type naiveRule struct{ manager, pattern string }

// naiveRules give the first name in an error text, by ecosystem.
func naiveRules() []naiveRule {
	return []naiveRule{
		{"pip", `No module named '?([A-Za-z_]\w*)`},
		{"npm", `Cannot find (?:module|package) '((?:@[^'/]+/)?[^@'./][^'/]*)`},
		{"gem", `cannot load such file -- (\S+)`},
		{"cpan", `you may need to install the (\S+) module`},
		{"cran", `there is no package called .?.?.?([A-Za-z][\w.]*)`},
		{"luarocks", `module '([\w.]+)' not found`},
		{"go", `no required module provides package ([\w./-]+)`},
		{"go", `package ([\w-]+\.[\w./-]+) is not in`},
		{"cargo", "unresolved (?:import|module or unlinked crate) [`']?(\\w+)"},
		{"maven", `package ([\w.]+) does not exist`},
		{"apt", `fatal error: (\S+): No such file`},
		{"apt", `cannot find -l([\w+.-]+)`},
		{"apt", `(lib[\w.+-]+\.so[\w.]*): cannot open shared`},
		{"apt", `No such file or directory: '([\w+-]+)'`},
		{"apt", `spawnSync (\S+) ENOENT`},
		{"apt", `([\w.+-]+): (?:command )?not found`},
		{"apt", `([\w.+-]+): No such file or directory`},
	}
}

// naive says what installing the name from the error would have done.
func naive(p programs.Program, text string) (verdict, string) {
	for _, rule := range naiveRules() {
		m := regexp.MustCompile(rule.pattern).FindStringSubmatch(text)
		if m == nil {
			continue
		}
		what := rule.manager + " install " + m[1]
		if p.May(rule.manager, m[1]) || p.May(rule.manager, strings.ToLower(m[1])) {
			return naiveRight, what + ": right"
		}
		return naiveWrong, what + ": wrong"
	}
	return naiveNothing, "-"
}
