"""How often a question was taken: one that takes every worker with it must end."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('qa', '0002_answer_withdrawn'),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='attempts',
            field=models.PositiveSmallIntegerField(default=0),
        ),
    ]
