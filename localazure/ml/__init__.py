"""Online endpoints of Azure Machine Learning: a router in front, and the containers of each deployment behind it."""
