import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ForkedImages } from '../../../src/sampler/processes/forked-images';

describe('the fate of a forked image', () => {
  it('depends on whether its process executed a program, whichever end is known first', () => {
    const images = new ForkedImages();
    images.processEnded(7, false);
    images.dropOldFates();
    assert.equal(images.imageGone(7, '7.1/0'), true);
    assert.equal(images.imageGone(8, '8.1/0'), null);
    images.dropOldFates();
    assert.equal(images.processEnded(8, true), '8.1/0');
  });

  it('is not taken from an earlier process with the same pid', () => {
    const images = new ForkedImages();
    images.processEnded(7, false);
    images.dropOldFates();
    images.dropOldFates();
    assert.equal(images.imageGone(7, '7.2/0'), null);
    assert.equal(images.processEnded(7, true), '7.2/0');
  });

  it('is not taken from a later process with the same pid', () => {
    const images = new ForkedImages();
    assert.equal(images.imageGone(7, '7.1/0'), null);
    images.dropOldFates();
    images.dropOldFates();
    assert.equal(images.processEnded(7, false), null);
  });
});
