// Writes over PCIe: descriptors and their payload become memory write requests on a port for any endpoint.
//
//   descriptors -> tlp_split -> page_map -> tlp_join -> TLPs
//   payload ---------------------------------'
module pcie_wr
  import pcie_pkg::*;
  import framelane_pkg::bd_t;
#(
    parameter int unsigned DataW   = 512,
    parameter int unsigned Entries = 8192,

    localparam int unsigned KeepW = DataW / 8,
    localparam int unsigned DwordsW = DataW / 32,
    localparam int unsigned IndexW = $clog2(Entries)
) (
    input logic clk,
    input logic rst,

    // The link's, of descriptors that are taken from now on
    input mps_e mps_i,

    // The ring: while no descriptor is under way
    input logic [     4:0] page_log2_i,  // 12 to 21
    input logic [IndexW:0] pages_i,

    // Software writes an entry of the page map
    input logic              map_write_i,
    input logic [IndexW-1:0] map_index_i,
    input entry_t            map_entry_i,

    // Descriptors: their destination is an offset in the ring. Two cycles behind its ring
    input  bd_t    s_axis_bd_tdata,
    input  fence_t s_axis_bd_tuser,    // it is a fence, with a length of 1 and without payload
    input  logic   s_axis_bd_tvalid,
    output logic   s_axis_bd_tready,

    // Payload: one packet a descriptor
    input  logic [DataW-1:0] s_axis_payload_tdata,
    input  logic [KeepW-1:0] s_axis_payload_tkeep,
    input  logic             s_axis_payload_tlast,
    input  logic             s_axis_payload_tuser,   // bytes of this beat are wrong
    input  logic             s_axis_payload_tvalid,
    output logic             s_axis_payload_tready,

    // TLPs: data from the first doubleword on, with the header beside
    output logic      [  DataW-1:0] m_axis_tlp_tdata,
    output logic      [DwordsW-1:0] m_axis_tlp_tkeep,
    output logic                    m_axis_tlp_tlast,
    output tlp_user_t               m_axis_tlp_tuser,
    output logic                    m_axis_tlp_tvalid,
    input  logic                    m_axis_tlp_tready,

    // One pulse a descriptor, in their order: all of its TLPs are on their way
    output logic    status_valid_o,
    output status_e status_o
);

  localparam int unsigned RING_W = OFFSET_W - 11;

  logic [RING_W-1:0] ring_q;  // its length in units of 4 KiB
  write_t write;
  tlp_t split_tdata, mapped_tdata;
  logic split_tvalid, split_tready, mapped_tvalid, mapped_tready;

  assign write = '{fence: s_axis_bd_tuser, length: s_axis_bd_tdata.length, offset: s_axis_bd_tdata.destination};

  always_ff @(posedge clk) ring_q <= RING_W'(pages_i) << 4'(page_log2_i - 5'd12);

  tlp_split #(
      .DataW(DataW)
  ) u_split (
      .clk,
      .rst,
      .mps_i,
      .ring_i             (ring_q),
      .s_axis_write_tdata (write),
      .s_axis_write_tvalid(s_axis_bd_tvalid),
      .s_axis_write_tready(s_axis_bd_tready),
      .m_axis_tlp_tdata   (split_tdata),
      .m_axis_tlp_tvalid  (split_tvalid),
      .m_axis_tlp_tready  (split_tready)
  );

  page_map #(
      .Entries(Entries)
  ) u_map (
      .clk,
      .rst,
      .page_log2_i,
      .pages_i,
      .write_i          (map_write_i),
      .index_i          (map_index_i),
      .entry_i          (map_entry_i),
      .s_axis_tlp_tdata (split_tdata),
      .s_axis_tlp_tvalid(split_tvalid),
      .s_axis_tlp_tready(split_tready),
      .m_axis_tlp_tdata (mapped_tdata),
      .m_axis_tlp_tvalid(mapped_tvalid),
      .m_axis_tlp_tready(mapped_tready)
  );

  tlp_join #(
      .DataW(DataW)
  ) u_join (
      .clk,
      .rst,
      .s_axis_tlp_tdata (mapped_tdata),
      .s_axis_tlp_tvalid(mapped_tvalid),
      .s_axis_tlp_tready(mapped_tready),
      .s_axis_payload_tdata,
      .s_axis_payload_tkeep,
      .s_axis_payload_tlast,
      .s_axis_payload_tuser,
      .s_axis_payload_tvalid,
      .s_axis_payload_tready,
      .m_axis_tdata     (m_axis_tlp_tdata),
      .m_axis_tkeep     (m_axis_tlp_tkeep),
      .m_axis_tlast     (m_axis_tlp_tlast),
      .m_axis_tuser     (m_axis_tlp_tuser),
      .m_axis_tvalid    (m_axis_tlp_tvalid),
      .m_axis_tready    (m_axis_tlp_tready),
      .status_valid_o,
      .status_o
  );

  logic unused;
  assign unused = ^s_axis_bd_tdata;

endmodule
