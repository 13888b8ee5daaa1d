# A bowl falls, and we mend it with gold.
from kintsugi_pottery import Bowl

bowl = Bowl(width=28, height=7)
print("A bowl:")
print(bowl)

bowl.drop(pieces=4)
print("\nIt fell. Four pieces:")
print(bowl)

bowl.mend()
print("\nMended with gold:")
print(bowl)
bowl.save("bowl.png")
print("\nThe break is still there.")
print("Now it is the best part.")
