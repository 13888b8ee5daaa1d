package launch

// elfMachine is the number of this architecture in an executable's header.
const elfMachine = 62
