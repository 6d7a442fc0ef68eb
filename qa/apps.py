from django.apps import AppConfig


class QaConfig(AppConfig):
    name = "qa"
    verbose_name = "Questions: from question to evidenced answer"
    default_auto_field = "django.db.models.BigAutoField"
