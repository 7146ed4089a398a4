"""A review as one HTML file: dangers and totals first, then each stack's parts, costs, findings and what is missing.

The file asks for nothing from anywhere, and its content security policy forbids it to. Without JavaScript everything is there,
unfiltered.
"""

from azure_gpu_operations.review.page.document import page as page
