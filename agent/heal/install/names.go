package install

import "kintsugi/sandbox/lazyregexp"

// grammar is what a package may look like in a request: a name and a version,
// never an option of the manager, an address or a file.
var grammar = map[string]*lazyregexp.Regexp{
	"pip":   lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}(?:\[[A-Za-z0-9._, -]{1,100}\])?\s?(?:(?:[<>=!~]=?|===)\s?[A-Za-z0-9.*+!_-]{1,60}(?:,\s?)?){0,4}(?:\s?;[A-Za-z0-9_ ."'<>=!~()]{1,200})?$`),
	"npm":   lazyregexp.New(`^(?:@[a-z0-9~-][a-z0-9._~-]{0,99}/)?[A-Za-z0-9~][A-Za-z0-9._~-]{0,199}(?:@[\^~<>=v]{0,3}[A-Za-z0-9][A-Za-z0-9.+*-]{0,60})?$`),
	"go":    lazyregexp.New(`^[a-z0-9][a-z0-9-]{0,60}(?:\.[a-z0-9-]{1,60}){1,5}(?:/[A-Za-z0-9_~][A-Za-z0-9._~-]{0,80}){0,12}(?:@v[0-9][A-Za-z0-9.+-]{0,80})?$`),
	"cargo": lazyregexp.New(`^[A-Za-z][A-Za-z0-9_-]{0,63}(?:\[[a-z0-9_, -]{1,100}\])?(?:@[0-9][0-9A-Za-z.+-]{0,60})?$`),
	"maven": lazyregexp.New(`^[A-Za-z0-9_][A-Za-z0-9_.-]{0,150}:[A-Za-z0-9_][A-Za-z0-9._-]{0,119}(?::[A-Za-z0-9_][A-Za-z0-9._+-]{0,79})?$`),
	"apt":   lazyregexp.New(`^[a-z0-9][a-z0-9+.-]{1,99}(?::[a-z0-9-]{1,20})?(?:=[A-Za-z0-9.+~:-]{1,100})?$`),
}

func checkNames(manager string, packages []string) error {
	for _, p := range packages {
		if g := grammar[manager]; g != nil && !g.MatchString(p) {
			return &Error{Manager: manager, Reason: "\"" + p[:min(len(p), 80)] + "\" is no name of a package with a version"}
		}
	}
	return nil
}
