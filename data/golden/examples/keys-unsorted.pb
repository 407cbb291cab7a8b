
$

label


image	

small