// SPDX-License-Identifier: GPL-2.0-only
//! hwloc's XML.

use super::{check, refusal};

/// Two packages of a core with two threads and one without, and memory of a second kind beside.
pub(super) const SMALL: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x0000003f" complete_cpuset="0x000000ff">
    <object type="Package" os_index="0" cpuset="0x0000000b">
      <object type="NUMANode" os_index="0" cpuset="0x0000000b"/>
      <object type="NUMANode" os_index="2" cpuset="0x0000003f" subtype="HBM"/>
      <object type="L3Cache" cpuset="0x0000000b" depth="3">
        <object type="L2Cache" cpuset="0x0000000b" depth="2">
          <object type="L1iCache" cpuset="0x00000001" depth="1">
          <object type="Core" os_index="0" cpuset="0x00000009">
            <object type="PU" os_index="0" cpuset="0x00000001"/>
            <object type="PU" os_index="3" cpuset="0x00000008"/>
          </object>
          <object type="Core" os_index="1" cpuset="0x00000002">
            <object type="PU" os_index="1" cpuset="0x00000002"/>
          </object>
          </object>
        </object>
      </object>
    </object>
    <object type="Package" os_index="1" cpuset="0x00000034">
      <object type="NUMANode" os_index="5" cpuset="0x00000034"/>
      <object type="L3Cache" cpuset="0x00000034" depth="3" subtype="MemorySideCache"/>
      <object type="L2Cache" cpuset="0x00000034" depth="2">
        <object type="Core" os_index="2" cpuset="0x00000034">
          <object type="PU" os_index="2"/><object type="PU" os_index="4"/><object type="PU" os_index="5"/>
        </object>
      </object>
    </object>
  </object>
  <distances2 type="NUMANode" nbobjs="3" kind="9" name="NUMABandwidth" indexing="os">
    <indexes length="6">0 2 5 </indexes>
  </distances2>
  <distances2 type="NUMANode" nbobjs="3" kind="5" name="NUMALatency" indexing="os">
    <indexes length="6">5 2 0 </indexes>
    <u64values length="12">10 17 21 17 </u64values>
    <u64values length="12">10 17 22 17 10 </u64values>
  </distances2>
  <cpukind cpuset="0x0000000b"><info name="LinuxCapacity" value="1024"/></cpukind>
  <cpukind cpuset="0x000000f4"><info name="LinuxCapacity" value="446"/></cpukind>
</topology>
"#;

#[test]
fn version_2_is_read() {
    check(
        "m.xml",
        SMALL.as_bytes(),
        "cores 0,3 1 2,4-5 6 7
         clusters 0-1,3 2,4-5 6 7
         llcs 0-1,3 2,4-5 6 7
         nodes 0-1,3,6-7 2,4-5
         packages 0-1,3,6-7 2,4-5
         capacity 1024 1024 446 1024 446 446 1024 1024
         online 0-5
         distance 10 22
         distance 21 10",
    );
}

#[test]
fn version_1_is_read() {
    check(
        "m.xml",
        br#"<topology>
  <object type="Machine" os_index="0" cpuset="0x0000000f" complete_cpuset="0x0000000f">
    <distances nbobjs="2" relative_depth="1" latency_base="10.000000">
      <latency value="1.000000"/><latency value="2.100000"/><latency value="2.100000"/><latency value="1.000000"/>
    </distances>
    <object type="NUMANode" os_index="0" cpuset="0x00000003">
      <object type="Socket" os_index="0" cpuset="0x00000003">
        <object type="Cache" cpuset="0x00000003" depth="2" cache_type="0">
          <object type="Cache" cpuset="0x00000001" depth="1" cache_type="2"/>
          <object type="Core" os_index="0" cpuset="0x00000001"><object type="PU" os_index="0"/></object>
          <object type="Core" os_index="1" cpuset="0x00000002"><object type="PU" os_index="1"/></object>
        </object>
      </object>
    </object>
    <object type="NUMANode" os_index="1" cpuset="0x0000000c">
      <object type="Socket" os_index="1" cpuset="0x0000000c">
        <object type="Core" os_index="0" cpuset="0x00000004"><object type="PU" os_index="2"/></object>
        <object type="Core" os_index="1" cpuset="0x00000008"><object type="PU" os_index="3"/></object>
      </object>
    </object>
  </object>
</topology>"#,
        "cores 0 1 2 3
         clusters 0-1 2 3
         llcs 0-1 2-3
         nodes 0-1 2-3
         packages 0-1 2-3
         capacity 1024 1024 1024 1024
         online 0-3
         distance 10 21
         distance 21 10",
    );
}

#[test]
fn faults_are_named_with_their_place() {
    let cases = [
        (
            "<html><body/></html>",
            "m.xml:1:1: the outermost element is 'html' (accepted: topology, as hwloc writes it)",
        ),
        ("<topology/>", "m.xml: no object of type PU in it"),
        ("<topology>\n <object type=\"PU\"/></topology>", "m.xml:2:2: PU without os_index"),
        (
            "<topology><object type=\"PU\" os_index=\"x\"/></topology>",
            "m.xml:1:11: os_index is 'x' (accepted: a number)",
        ),
        (
            "<topology><object type=\"PU\" os_index=\"8192\"/></topology>",
            "m.xml:1:11: os_index is '8192' (accepted: 0 to 8191)",
        ),
        ("<topology>\n<object", "m.xml:2: not XML: the root node was opened but never closed"),
        ("<topology>\n\n<object type=", "m.xml:3: not XML: "),
        ("<topology></topologie>", "m.xml:1:11: not XML: expected 'topology' tag, not 'topologie'"),
    ];
    for (text, message) in cases {
        let error = refusal("m.xml", text.as_bytes());
        assert!(error.starts_with(message), "{text:?}: {error}");
    }
    let replaced = |from, to| refusal("m.xml", SMALL.replace(from, to).as_bytes());
    let accepted = "(accepted: words of 32 bits in hexadecimal joined by commas, CPUs 0 to 8191)";
    assert_eq!(
        replaced("cpuset=\"0x00000009\"", "cpuset=\"0xf...f\""),
        format!("m.xml:11:11: cpuset is '0xf...f' {accepted}")
    );
    assert_eq!(replaced(" cpuset=\"0x00000009\"", ""), "m.xml:11:11: Core without cpuset");
    assert_eq!(
        replaced("10 17 21 17 <", "10 17 21 <"),
        "m.xml:35:3: the table of distances is '8 values for 3 nodes' (accepted: one for each pair of nodes)"
    );
    assert_eq!(
        replaced("10 17 21 17 <", "10 17 5 17 <"),
        "m.xml: distance 5 from node 1 to node 0 (accepted: 10 to itself, 11 to 254 to another)"
    );
    assert_eq!(
        replaced("os_index=\"1\" cpuset=\"0x00000034\"", "os_index=\"1\" cpuset=\"0x3f\""),
        "m.xml:22:5: cpu 0 is in package 0 and in package 1"
    );
    assert_eq!(
        replaced("value=\"446\"", "value=\"0\""),
        "m.xml:41:32: LinuxCapacity is '0' (accepted: 1 to 1024)"
    );
    assert_eq!(
        replaced(
            "type=\"Core\" os_index=\"1\" cpuset=\"0x00000002\"",
            "type=\"Core\" os_index=\"1\" cpuset=\"0x6\""
        ),
        "m.xml:26:9: cpu 2 is in core 1 and in core 2"
    );
}
