package heal

// Outputs are the folders that builds make, by name, each with the files beside
// which it is one: what is in there can be made again from the sources.
func Outputs() map[string][]string {
	out := map[string][]string{}
	for folder, w := range LoadNames().table("output").rows {
		out[folder] = w.packages
	}
	return out
}
